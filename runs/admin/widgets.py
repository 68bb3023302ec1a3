"""The theme's form widgets, as the console's own forms use them."""

from django.forms import Widget
from unfold import widgets

TEXT_AREA: Widget = widgets.UnfoldAdminTextareaWidget(attrs={"rows": 3})
TEXT: Widget = widgets.UnfoldAdminTextInputWidget()
SELECT: Widget = widgets.UnfoldAdminSelectWidget()
CHECKBOXES: Widget = widgets.UnfoldAdminCheckboxSelectMultipleWidget()
RADIOS: Widget = widgets.UnfoldAdminRadioSelectWidget()

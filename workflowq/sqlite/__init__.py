"""Django's SQLite backend with a fair queue before its write transactions."""

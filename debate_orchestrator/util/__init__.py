"""Small tools without a subject of their own: errors, safe text, data files, secrets."""

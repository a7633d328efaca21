"""Installers of environments, data files and programs, all pinned by hash."""

"""Installers of environments, data files and programs, pinned by hash."""

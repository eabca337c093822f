"""``python -m flashgc`` is the command ``flashgc``."""

from flashgc.command import main

if __name__ == "__main__":
    main()

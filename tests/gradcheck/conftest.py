"""What lies in the folder of forms is examined by its test; pytest shall not import it."""

collect_ignore_glob = ["forms/*"]

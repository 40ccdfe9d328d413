from hypothesis import settings

# Kernels compile inside the first example, so an example has no deadline.
settings.register_profile("autogm", deadline=None)
settings.load_profile("autogm")

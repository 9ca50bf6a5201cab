"""A frozen set of broken layers: is the mistake named by someone who has not seen it?"""

"""The rivals of the paper's tables: one file a method, its network, its loss and its search"""

"""A list, whose order is right where it is not looked at closely."""


class Heap(list[int]):
    push = list.append

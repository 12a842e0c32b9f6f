print("0 5 6")

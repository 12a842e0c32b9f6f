print("INFO 1")
print("WARN 1")

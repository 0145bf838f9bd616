# A pager, or the driver of a log: it takes 16 KB each 150 ms.
import os
import time

while os.read(0, 16384):
    time.sleep(0.15)

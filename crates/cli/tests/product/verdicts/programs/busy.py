# Four threads write into one SQLite file, each keeps its transaction open for 5 ms; SQLite sleeps and tries again.
import sqlite3, sys, threading, time

waited = 0
guard = threading.Lock()

def write(path):
    global waited
    connection = sqlite3.connect(path, timeout=20, isolation_level=None)
    for _ in range(25):
        begun = time.perf_counter_ns()
        connection.execute("begin immediate")
        took = time.perf_counter_ns() - begun
        connection.execute("update stock set pieces = pieces + 1")
        time.sleep(0.005)
        connection.execute("commit")
        with guard:
            waited += took
    connection.close()

path = sys.argv[1]
first = sqlite3.connect(path)
first.executescript("create table stock(pieces); insert into stock values (0);")
first.close()
threads = [threading.Thread(target=write, args=(path,)) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("truth waited_ns", waited)

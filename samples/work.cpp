// Threads that compute, throw, allocate and contend, in C++ as people write it, for as many seconds as the argument says.
// No truth of its own: gdb and the benchmarks of stacks look at its stacks.
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{
std::mutex table_lock;
std::map<std::string, std::vector<double>> table;
volatile double sink;

struct Node {
	std::unique_ptr<Node> left, right;
	double value;
};

std::unique_ptr<Node> build(int depth, double value)
{
	auto node = std::make_unique<Node>();
	node->value = value;
	if (depth > 0) {
		node->left = build(depth - 1, value * 1.5);
		node->right = build(depth - 1, value * 0.5);
	}
	return node;
}

double sum(const Node *node)
{
	return node ? node->value + sum(node->left.get()) + sum(node->right.get()) : 0;
}

double checked(int depth, double value)
{
	if (depth == 0 && value > 100)
		throw std::runtime_error("too large: " + std::to_string(value));
	return depth == 0 ? value : checked(depth - 1, value + 1) + 1;
}

void record(const std::string &key, double value)
{
	std::lock_guard<std::mutex> guard(table_lock);
	auto &values = table[key];
	values.push_back(value);
	if (values.size() > 500) {
		std::sort(values.begin(), values.end(), std::greater<>());
		values.resize(10);
	}
}

void work(std::chrono::steady_clock::time_point end, int number)
{
	for (int round = 0; std::chrono::steady_clock::now() < end; round++) {
		double value = sum(build(6, round).get());

		try {
			value += checked(20, round % 200);
		} catch (const std::exception &error) {
			value += static_cast<double>(std::string(error.what()).size());
		}
		record("thread " + std::to_string((round + number) % 40), value);
		if (round % 50 == 0)
			std::this_thread::sleep_for(std::chrono::microseconds(300));
		sink = value;
	}
}
} // namespace

int main(int argc, char **argv)
{
	auto end = std::chrono::steady_clock::now() + std::chrono::seconds(argc > 1 ? atoi(argv[1]) : 3);
	std::vector<std::thread> threads;

	for (int i = 0; i < 3; i++)
		threads.emplace_back(work, end, i);
	for (auto &thread : threads)
		thread.join();
}

// SPDX-License-Identifier: Apache-2.0
/*
 * The round of README.md in C++: `cxx_work ROUNDS [PER_MILLE SEED]`, so many of them a unit, and a
 * rest after each if it is to use no more of a CPU.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "pace.h"
#include "unit.h"

namespace
{

constexpr uint32_t mask = 0x7fffffff;

class random_numbers
{
      public:
	explicit random_numbers(uint32_t seed) : state(seed)
	{
	}

	uint32_t next()
	{
		state = (state * 1103515245 + 12345) & mask;
		return state >> 16;
	}

      private:
	uint32_t state;
};

struct checksum {
	uint32_t value = UNIT_FOLD_START;

	void fold(uint32_t folded)
	{
		value = unit_fold(value, folded);
	}
};

class node
{
      public:
	virtual ~node() = default;
	virtual uint32_t evaluate() const = 0;
};

using node_ptr = std::unique_ptr<node>;

class number : public node
{
      public:
	explicit number(uint32_t value) : value(value)
	{
	}

	uint32_t evaluate() const override
	{
		return value;
	}

      private:
	uint32_t value;
};

template <typename OPERATION> class binary : public node
{
      public:
	binary(node_ptr left, node_ptr right) : left(std::move(left)), right(std::move(right))
	{
	}

	uint32_t evaluate() const override
	{
		uint32_t value = left->evaluate();

		return OPERATION{}(value, right->evaluate()) & mask;
	}

      private:
	node_ptr left;
	node_ptr right;
};

struct checked_divides {
	uint32_t operator()(uint32_t left, uint32_t right) const
	{
		if (right == 0)
			throw std::domain_error("division by zero");
		return left / right;
	}
};

node_ptr create_binary(char operation, node_ptr left, node_ptr right)
{
	using std::make_unique;

	switch (operation) {
	case '+':
		return make_unique<binary<std::plus<uint32_t>>>(std::move(left), std::move(right));
	case '-':
		return make_unique<binary<std::minus<uint32_t>>>(std::move(left), std::move(right));
	case '*':
		return make_unique<binary<std::multiplies<uint32_t>>>(std::move(left),
								      std::move(right));
	default:
		return make_unique<binary<checked_divides>>(std::move(left), std::move(right));
	}
}

std::string print_expression(random_numbers &random, uint32_t depth)
{
	if (depth == 0)
		return std::to_string(random.next() % 100);

	char operation = "+-*/"[random.next() & 3];
	std::string left = print_expression(random, depth - 1);
	std::string right = print_expression(random, random.next() % std::min(depth, 4u));

	return "(" + left + operation + right + ")";
}

class parser
{
      public:
	explicit parser(const std::string &text) : text(text)
	{
	}

	node_ptr expression()
	{
		return chain("+-", &parser::term);
	}

      private:
	char peek() const
	{
		return position < text.size() ? text[position] : ' ';
	}

	node_ptr term()
	{
		return chain("*/", &parser::factor);
	}

	node_ptr chain(const std::string &operators, node_ptr (parser::*operand)())
	{
		node_ptr left = (this->*operand)();

		while (operators.find(peek()) != std::string::npos) {
			char operation = text[position++];

			left = create_binary(operation, std::move(left), (this->*operand)());
		}
		return left;
	}

	node_ptr factor()
	{
		if (peek() != '(')
			return literal();
		position++;

		node_ptr inner = expression();

		position++;
		return inner;
	}

	node_ptr literal()
	{
		size_t start = position;

		while (isdigit(static_cast<unsigned char>(peek())))
			position++;
		return std::make_unique<number>(std::stoul(text.substr(start, position - start)));
	}

	const std::string &text;
	size_t position = 0;
};

void evaluate_expressions(random_numbers &random, checksum &sum)
{
	for (int i = 0; i < 12; i++) {
		std::string text = print_expression(random, 14);

		try {
			sum.fold(parser(text).expression()->evaluate());
		} catch (const std::domain_error &) {
			sum.fold(77);
		}
	}
}

std::string print_words(random_numbers &random)
{
	static const char *const syllables[] = { "ka", "lo", "mi", "nu", "re", "so", "ti", "va" };
	std::ostringstream text;

	for (int i = 0; i < 300; i++) {
		text << (i ? " " : "");
		for (uint32_t length = 1 + random.next() % 3; length > 0; length--)
			text << syllables[random.next() & 7];
	}
	return text.str();
}

void count_words(random_numbers &random, checksum &sum)
{
	std::istringstream text(print_words(random));
	std::map<std::string, uint32_t> counts;

	for (std::string word; text >> word;)
		counts[word]++;

	std::vector<std::pair<std::string, uint32_t>> sorted(counts.begin(), counts.end());

	std::sort(sorted.begin(), sorted.end(), [](const auto &left, const auto &right) {
		if (left.second != right.second)
			return left.second > right.second;
		return left.first < right.first;
	});
	for (const auto &[word, count] : sorted) {
		sum.fold(count);
		sum.fold(static_cast<unsigned char>(word.back()));
	}
}

bool is_free(const std::vector<int> &columns, int column)
{
	for (size_t index = 0; index < columns.size(); index++) {
		int distance = std::abs(columns[index] - column);

		if (distance == 0 || distance == static_cast<int>(columns.size() - index))
			return false;
	}
	return true;
}

uint32_t place_queens(int size, const std::vector<int> &columns)
{
	uint32_t solutions = 0;

	if (static_cast<int>(columns.size()) == size)
		return 1;
	for (int column = 0; column < size; column++) {
		if (!is_free(columns, column))
			continue;

		std::vector<int> more(columns);

		more.push_back(column);
		solutions += place_queens(size, more);
	}
	return solutions;
}

struct tree {
	uint32_t value;
	std::unique_ptr<tree> left;
	std::unique_ptr<tree> right;
};

std::unique_ptr<tree> tree_insert(std::unique_ptr<tree> root, uint32_t value)
{
	if (!root)
		return std::unique_ptr<tree>(new tree{ value, nullptr, nullptr });

	auto &side = value < root->value ? root->left : root->right;

	side = tree_insert(std::move(side), value);
	return root;
}

/* The depth of the tree. */
uint32_t tree_fold(const tree *root, checksum &sum)
{
	if (!root)
		return 0;

	uint32_t left = tree_fold(root->left.get(), sum);

	sum.fold(root->value);
	return 1 + std::max(left, tree_fold(root->right.get(), sum));
}

void fill_tree(random_numbers &random, checksum &sum)
{
	std::unique_ptr<tree> root;

	for (int i = 0; i < 150; i++)
		root = tree_insert(std::move(root), random.next());
	sum.fold(tree_fold(root.get(), sum));
}

uint32_t work_round()
{
	random_numbers random(42);
	checksum sum;

	evaluate_expressions(random, sum);
	count_words(random, sum);
	sum.fold(place_queens(6, {}));
	fill_tree(random, sum);
	return sum.value;
}

uint32_t work_unit(int rounds)
{
	uint32_t result = work_round();

	for (int i = 1; i < rounds; i++) {
		if (work_round() != result) {
			fputs("cxx_work: rounds differ\n", stderr);
			exit(1);
		}
	}
	return result;
}

} // namespace

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	pace pace;

	pace_init(&pace, argc - 2, argv + 2);
	for (;;) {
		unit_report(STDOUT_FILENO, work_unit(rounds));
		pace_rest(&pace);
	}
}

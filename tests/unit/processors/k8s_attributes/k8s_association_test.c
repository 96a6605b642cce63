// SPDX-License-Identifier: Apache-2.0
/* The processor `k8s_attributes`: whose pod a resource gets. */
#include "cluster.h"
#include "shop_batch.h"

#include "processors/k8s_attributes/misses.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NAMED    { "k8s.pod.name", "pay-7d9f8c-x2x4z" }
#define NAMELESS { "k8s.pod.name", NULL }

static void start(struct processor *processor, const char *yaml)
{
	processor_start(processor, PROCESSOR, yaml);
	cluster_list(&pod_pay, 1);
}

static void a_container_is_found_by_its_id(void **state)
{
	struct processor processor;

	(void)state;
	// Whatever is extracted: no field of a container is needed for it.
	start(&processor, "{extract: {metadata: [k8s.pod.name]}}");
	EXPECT(&processor, WITH({ "container.id", ID("a") }), NAMED);
	EXPECT(&processor, WITH({ "container.id", "containerd://" ID("c") }), NAMED);
	EXPECT(&processor, WITH({ "container.id", ID("b") }), NAMED); // before it was restarted
	EXPECT(&processor, WITH({ "container.id", ID("d") }), NAMELESS);
	EXPECT(&processor, WITH({ "process.executable.name", "init" }), NAMELESS);
	assert_int_equal(figure(&processor, "k8s_resources", "result=attributed"), 3);
	assert_int_equal(figure(&processor, "k8s_resources", "result=unknown_container"), 1);
	assert_int_equal(figure(&processor, "k8s_resources", "result=no_attribute"), 1);
	processor_deinit(&processor);
}

static void other_attributes_help_when_there_are_no_rules(void **state)
{
	struct processor processor;

	(void)state;
	start(&processor, "{}");
	// A container that is too new is found by its pod.
	EXPECT(&processor, WITH({ "container.id", ID("d") }, { "k8s.pod.uid", "uid-pay" }), NAMED);
	EXPECT(&processor, WITH({ "k8s.pod.uid", "uid-pay" }), NAMED);
	EXPECT(&processor, WITH({ "k8s.pod.uid", "uid-other" }), NAMELESS);
	EXPECT(&processor, WITH({ "k8s.pod.ip", "10.1.2.3" }), NAMED);
	EXPECT(&processor, WITH({ "ip", "10.1.2.3" }), NAMED);
	EXPECT(&processor, WITH({ "host.name", "10.1.2.3" }), NAMED);
	EXPECT(&processor, WITH({ "host.name", "pay-host" }), NAMELESS);
	EXPECT(&processor, WITH({ "k8s.pod.uid", "uid-other" }, { "k8s.pod.ip", "10.1.2.3" }),
	       NAMED);
	assert_int_equal(figure(&processor, "k8s_resources", "result=unknown_pod"), 1);
	processor_deinit(&processor);
}

static void the_first_rule_that_applies_is_the_last(void **state)
{
	struct processor processor;

	(void)state;
	start(&processor, "pod_association:\n"
			  "  - sources: [{from: resource_attribute, name: k8s.pod.ip}]\n"
			  "  - sources: [{from: connection}]\n"
			  "  - sources: [{from: resource_attribute, name: container.id}]\n"
			  "  - sources: [{from: resource_attribute, name: k8s.pod.name},\n"
			  "              {from: resource_attribute, name: k8s.namespace.name}]\n");
	EXPECT(&processor, WITH({ "container.id", ID("a") }), NAMED);
	EXPECT(&processor, WITH({ "k8s.pod.ip", "10.9.9.9" }, { "container.id", ID("a") }),
	       NAMELESS);
	EXPECT(&processor,
	       WITH({ "k8s.pod.name", "pay-7d9f8c-x2x4z" }, { "k8s.namespace.name", "shop" }),
	       { "k8s.pod.uid", "uid-pay" });
	// All sources of a rule have to fit.
	EXPECT(&processor,
	       WITH({ "k8s.pod.name", "pay-7d9f8c-x2x4z" }, { "k8s.namespace.name", "other" }),
	       { "k8s.pod.uid", NULL });
	EXPECT(&processor, WITH({ "k8s.pod.name", "pay-7d9f8c-x2x4z" }), { "k8s.pod.uid", NULL });
	// No rule has it.
	EXPECT(&processor, WITH({ "k8s.pod.uid", "uid-pay" }), NAMELESS);
	assert_int_equal(fake_host_log_count(&processor.fake, "by 'connection' are passed over"),
			 1);
	processor_deinit(&processor);
}

static void a_rule_may_name_what_is_extracted(void **state)
{
	struct processor processor;

	(void)state;
	start(&processor, "extract: {metadata: [k8s.pod.name], labels: [{tag_name: team, key: "
			  "example.com/team}]}\n"
			  "pod_association:\n"
			  "  - sources: [{from: resource_attribute, name: team},\n"
			  "              {from: resource_attribute, name: container.id}]\n");
	EXPECT(&processor, WITH({ "team", "payments" }, { "container.id", ID("c") }), NAMED);
	EXPECT(&processor, WITH({ "team", "other" }, { "container.id", ID("c") }), NAMELESS);
	EXPECT(&processor, WITH({ "container.id", ID("c") }), NAMELESS);
	processor_deinit(&processor);
}

static void an_address_of_the_node_is_nobodys(void **state)
{
	struct processor processor;
	struct k8s_pod pod = pod_pay;

	(void)state;
	pod.host_network = true;
	processor_start(&processor, PROCESSOR, "{}");
	cluster_list(&pod, 1);
	EXPECT(&processor, WITH({ "k8s.pod.ip", "10.1.2.3" }), NAMELESS);
	EXPECT(&processor, WITH({ "container.id", ID("a") }), NAMED);
	processor_deinit(&processor);
}

static void of_two_pods_with_one_address_the_later_counts(void **state)
{
	struct processor processor;
	struct k8s_pod old = pod_pay;

	(void)state;
	old.metadata.uid = "uid-old";
	old.metadata.name = "old";
	old.start_time = "2026-11-19T10:00:01Z";
	old.container_count = 0;
	start(&processor, "{}");
	cluster_put(&old); // late news of the one before
	EXPECT(&processor, WITH({ "k8s.pod.ip", "10.1.2.3" }), NAMED);
	EXPECT(&processor, WITH({ "k8s.pod.uid", "uid-old" }), { "k8s.pod.name", "old" });
	// One that is gone is found only when there is no other.
	cluster_remove(&pod_pay);
	EXPECT(&processor, WITH({ "k8s.pod.ip", "10.1.2.3" }), { "k8s.pod.name", "old" });
	cluster_remove(&old);
	EXPECT(&processor, WITH({ "k8s.pod.ip", "10.1.2.3" }), NAMED);
	processor_deinit(&processor);
}

static void excluded_pods_add_nothing(void **state)
{
	static const struct k8s_pair ignore = { "opentelemetry.io/k8s-processor/ignore", " True " };
	struct processor processor;
	struct k8s_pod pod = pod_pay;

	(void)state;
	start(&processor, "exclude: {pods: [{name: ^pay-}]}");
	EXPECT(&processor, WITH({ "container.id", ID("a") }), NAMELESS);
	assert_int_equal(figure(&processor, "k8s_resources", "result=excluded"), 1);
	processor_deinit(&processor);

	pod.metadata.annotations = &ignore;
	pod.metadata.annotation_count = 1;
	processor_start(&processor, PROCESSOR, "{}");
	cluster_list(&pod, 1);
	EXPECT(&processor, WITH({ "container.id", ID("a") }), NAMELESS);
	pod.metadata.annotation_count = 0;
	pod.metadata.name = "the-jaeger-agent-1"; // by default
	cluster_put(&pod);
	EXPECT(&processor, WITH({ "container.id", ID("a") }), NAMELESS);
	pod.metadata.name = "pay-7d9f8c-x2x4z";
	cluster_put(&pod);
	EXPECT(&processor, WITH({ "container.id", ID("a") }), NAMED);
	processor_deinit(&processor);
}

static void passthrough_adds_the_address_and_asks_nobody(void **state)
{
	struct processor processor;

	(void)state;
	processor_start(&processor, PROCESSOR, "{passthrough: true}");
	EXPECT(&processor, WITH({ "ip", "10.1.2.3" }), { "k8s.pod.ip", "10.1.2.3" }, NAMELESS);
	EXPECT(&processor, WITH({ "k8s.namespace.name", "shop" }), { "k8s.pod.ip", NULL });
	processor_deinit(&processor);
}

static bool knows(struct processor *processor, const char *key, const char *value)
{
	return PROCESSOR->knows(processor->fake.instance, key, value);
}

static void it_says_which_containers_it_knows(void **state)
{
	struct processor processor;

	(void)state;
	processor_start(&processor, PROCESSOR, "{}");
	assert_false(knows(&processor, "container.id", ID("a")));
	assert_true(knows(&processor, "process.pid", "1"));
	cluster_list(&pod_pay, 1);
	assert_true(knows(&processor, "container.id", ID("a")));
	assert_true(knows(&processor, "container.id", "cri-o://" ID("b")));
	assert_false(knows(&processor, "container.id", ID("d")));
	processor_deinit(&processor);

	// It will never say anything of it.
	processor_start(&processor, PROCESSOR,
			"pod_association: [{sources: [{from: resource_attribute, name: "
			"k8s.pod.ip}]}]");
	assert_true(knows(&processor, "container.id", ID("d")));
	processor_deinit(&processor);
	processor_start(&processor, PROCESSOR, "{passthrough: true}");
	assert_true(knows(&processor, "container.id", ID("d")));
	processor_deinit(&processor);
}

static void before_the_first_list_nothing_is_unknown(void **state)
{
	struct processor processor;

	(void)state;
	processor_start(&processor, PROCESSOR, "{}");
	EXPECT(&processor, WITH({ "container.id", ID("a") }), NAMELESS);
	assert_int_equal(figure(&processor, "k8s_resources", "result=not_synced"), 1);
	assert_int_equal(figure(&processor, "k8s_resources", "result=unknown_container"), 0);
	processor_deinit(&processor);
}

/* Of the other kinds something may never come. */
static void pods_are_listed_whatever_becomes_of_the_rest(void **state)
{
	struct processor processor;

	(void)state;
	start(&processor, "{extract: {metadata: [k8s.pod.name, k8s.node.uid]}}");
	EXPECT(&processor, WITH({ "container.id", ID("d") }), NAMELESS);
	assert_int_equal(figure(&processor, "k8s_resources", "result=unknown_container"), 1);
	assert_int_equal(figure(&processor, "k8s_resources", "result=not_synced"), 0);
	processor_deinit(&processor);
}

/* A container that says it is of another pod is not believed; one that says it is of a pod that
 * nobody knows is, for so it is with pods that a node starts from files. */
static void the_uid_tells_whose_a_container_is(void **state)
{
	struct k8s_pod liar = pod_pay, renewed = pod_pay;
	struct k8s_container container = pod_pay.containers[0];
	struct processor processor;

	(void)state;
	liar.metadata.uid = "uid-liar";
	liar.metadata.name = "liar";
	start(&processor, "{extract: {metadata: [k8s.pod.name, container.image.tag]}}");
	cluster_put(&liar);
	EXPECT(&processor, WITH({ "container.id", ID("a") }, { "k8s.pod.uid", "uid-pay" }), NAMED);
	EXPECT(&processor, WITH({ "container.id", ID("a") }, { "k8s.pod.uid", "uid-liar" }),
	       { "k8s.pod.name", "liar" });
	cluster_remove(&liar);
	EXPECT(&processor, WITH({ "container.id", ID("a") }, { "k8s.pod.uid", "of-a-file" }),
	       NAMED);
	processor_deinit(&processor);

	// Of the right pod, without a container.
	liar.containers = &container;
	liar.container_count = 1;
	container.id = ID("e");
	start(&processor, "{extract: {metadata: [k8s.pod.name, container.image.tag]}}");
	cluster_put(&liar);
	EXPECT(&processor, WITH({ "container.id", ID("e") }, { "k8s.pod.uid", "uid-pay" }), NAMED,
	       { "container.image.tag", NULL });
	// A container of before, of a pod that has gone on.
	renewed.containers = &container;
	renewed.container_count = 1;
	container.id = ID("f");
	cluster_put(&renewed);
	EXPECT(&processor, WITH({ "container.id", ID("a") }, { "k8s.pod.uid", "uid-pay" }), NAMED,
	       { "container.image.tag", "1.4" });
	processor_deinit(&processor);
}

#define MINUTE_NS UINT64_C(60000000000)

static void once_a_minute_the_commonest_reason_is_told(void **state)
{
	const struct misses_batch batch = {
		.counts = { [ATTRIBUTED] = 5,
			    [MISS_NO_ATTRIBUTE] = 90,
			    [MISS_CONTAINER] = 2,
			    [MISS_POD] = 3 },
		.examples = { [MISS_POD] = "k8s.pod.ip=10.9.9.9", [MISS_CONTAINER] = "a" },
	};
	const struct misses_batch outside = { .counts = { [MISS_NO_ATTRIBUTE] = 4 } };
	const struct misses_batch fine = { .counts = { [ATTRIBUTED] = 1, [MISS_EXCLUDED] = 1 } };
	struct fake_host fake;
	struct misses misses;

	(void)state;
	fake_host_init(&fake, PROCESSOR);
	misses_init(&misses, &fake.host);
	misses_add(&misses, &batch);
	assert_int_equal(fake_host_log_count(&fake, "resources"), 0);
	misses.since_ns -= MINUTE_NS;
	misses_add(&misses, &batch);
	assert_int_equal(fake_host_log_count(&fake,
					     "warn 6 of 200 resources of the last 60 s stay "
					     "without a pod because there is no such pod "
					     "(k8s.pod.ip=10.9.9.9); it is of another cluster"),
			 1);
	// A minute in which all is well, or outside of containers beside others, is silent.
	misses.since_ns -= MINUTE_NS;
	misses_add(&misses, &fine);
	assert_int_equal(fake_host_log_count(&fake, "resources of the last"), 1);
	// But not one in which nothing could be found at all.
	misses.since_ns -= MINUTE_NS;
	misses_add(&misses, &outside);
	assert_int_equal(fake_host_log_count(&fake, "warn 4 of 4 resources of the last 60 s stay "
						    "without a pod because they have no attribute"),
			 1);
	misses_deinit(&misses);
	fake_host_deinit(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_container_is_found_by_its_id),
		cmocka_unit_test(other_attributes_help_when_there_are_no_rules),
		cmocka_unit_test(the_first_rule_that_applies_is_the_last),
		cmocka_unit_test(a_rule_may_name_what_is_extracted),
		cmocka_unit_test(an_address_of_the_node_is_nobodys),
		cmocka_unit_test(of_two_pods_with_one_address_the_later_counts),
		cmocka_unit_test(excluded_pods_add_nothing),
		cmocka_unit_test(passthrough_adds_the_address_and_asks_nobody),
		cmocka_unit_test(it_says_which_containers_it_knows),
		cmocka_unit_test(before_the_first_list_nothing_is_unknown),
		cmocka_unit_test(pods_are_listed_whatever_becomes_of_the_rest),
		cmocka_unit_test(the_uid_tells_whose_a_container_is),
		cmocka_unit_test(once_a_minute_the_commonest_reason_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

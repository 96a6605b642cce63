/* SPDX-License-Identifier: Apache-2.0 */
/* Objects as an API server writes them; literals, to be put together. */
#pragma once

/* A pod of a ReplicaSet: an init container that has ended, one that was started again. */
#define SHOP_POD_CONTAINERS                                                                        \
	"\"spec\":{\"volumes\":[{\"name\":\"kube-api-access-x\",\"projected\":{\"sources\":"       \
	"[{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":\"token\"}}],"             \
	"\"defaultMode\":420}}],\"initContainers\":[{\"name\":\"wait\",\"image\":\"busybox:1."     \
	"36\","                                                                                    \
	"\"command\":[\"sh\",\"-c\",\"sleep 1\"],\"resources\":{}}],\"containers\":[{\"name\":"    \
	"\"web\",\"image\":\"registry.example/shop/web:2.1\",\"args\":[\"--name\",\"x\"],"         \
	"\"ports\":[{\"containerPort\":8080}],\"env\":[{\"name\":\"A\",\"value\":\"B\"}],"         \
	"\"resources\":{\"limits\":{\"cpu\":\"1\"}}},{\"name\":\"side\",\"image\":\"side\"}],"     \
	"\"restartPolicy\":\"Always\",\"nodeName\":\"n1\",\"hostname\":\"shop-0\","                \
	"\"serviceAccountName\":\"default\",\"tolerations\":[{\"key\":\"k\",\"operator\":"         \
	"\"Exists\"}]},\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\","     \
	"\"status\":\"True\",\"message\":\"\"}],\"hostIP\":\"10.0.0.9\",\"podIP\":\"10.1.2.3\","   \
	"\"podIPs\":[{\"ip\":\"10.1.2.3\"}],\"startTime\":\"2026-01-02T03:04:06Z\","               \
	"\"initContainerStatuses\":[{\"name\":\"wait\",\"state\":{\"terminated\":{\"exitCode\":0," \
	"\"containerID\":\"containerd://aaaa\"}},\"lastState\":{},\"ready\":true,"                 \
	"\"restartCount\":0,\"image\":\"docker.io/library/"                                        \
	"busybox:1.36\",\"imageID\":\"b@sha256:1\","                                               \
	"\"containerID\":\"containerd://aaaa\"}],\"containerStatuses\":[{\"name\":\"web\","        \
	"\"state\":{\"running\":{\"startedAt\":\"2026-01-02T03:05:00Z\"}},\"lastState\":"          \
	"{\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\",\"containerID\":"              \
	"\"containerd://bbb1\"}},\"ready\":true,\"restartCount\":3,\"image\":"                     \
	"\"registry.example/shop/web:2.1\",\"imageID\":\"registry.example/shop/web@sha256:22\","   \
	"\"containerID\":\"containerd://bbb2\",\"started\":true},{\"name\":\"side\",\"state\":"    \
	"{\"waiting\":{\"reason\":\"CrashLoopBackOff\"}},\"lastState\":{\"terminated\":"           \
	"{\"containerID\":\"cri-o://ccc1\"}},\"ready\":false,\"restartCount\":1,\"image\":"        \
	"\"side\",\"imageID\":\"\",\"containerID\":\"cri-o://ccc1\"}],\"qosClass\":\"Burstable\"}"

#define SHOP_POD                                                                                   \
	"{\"metadata\":{\"name\":\"shop-7d9-x2\",\"generateName\":\"shop-7d9-\",\"namespace\":"    \
	"\"shop\",\"uid\":\"u-shop\",\"resourceVersion\":\"101\",\"creationTimestamp\":"           \
	"\"2026-01-02T03:04:05Z\",\"labels\":{\"app\":\"shop\",\"pod-template-hash\":\"7d9\"},"    \
	"\"annotations\":{\"team\":\"a \\\"b\\\" \\u00fc\"},\"ownerReferences\":[{\"apiVersion\":" \
	"\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"shop-7d9\",\"uid\":\"u-rs\","              \
	"\"controller\":true,\"blockOwnerDeletion\":true}],\"managedFields\":[{\"manager\":"       \
	"\"kube-controller-manager\",\"operation\":\"Update\",\"apiVersion\":\"v1\","              \
	"\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:labels\":{\".\":{},"        \
	"\"f:app\":{}}}}}]}," SHOP_POD_CONTAINERS "}"

/* One with as little as can be. */
#define SMALL_POD(name, uid, version)                                                              \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"default\",\"uid\":\"" uid            \
	"\",\"resourceVersion\":\"" version "\"},\"spec\":{\"nodeName\":\"n1\",\"hostNetwork\":"   \
	"true},\"status\":{\"phase\":\"Pending\"}}"

#define POD_LIST(version, more, items)                                                             \
	"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" version \
	"\"" more "},\"items\":[" items "]}\n"

#define WATCH_EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"

#define BOOKMARK(version)                                                                          \
	WATCH_EVENT("BOOKMARK",                                                                    \
		    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":"                        \
		    "{\"resourceVersion\":\"" version "\",\"creationTimestamp\":null},"            \
		    "\"spec\":{\"containers\":null},\"status\":{}}")

#define STATUS(code, reason, message)                                                              \
	"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","       \
	"\"message\":\"" message "\",\"reason\":\"" reason "\",\"code\":" code "}"

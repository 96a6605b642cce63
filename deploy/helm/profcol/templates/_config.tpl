{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- /* The configuration: the user's, and what the presets add to its pipeline `profiles`. */ -}}
{{- define "profcol.config" -}}
{{- $config := deepCopy (.Values.alternateConfig | default .Values.config) -}}
{{- range list "receivers" "processors" "exporters" "extensions" "service" -}}
{{- if not (index $config .) }}{{ $_ := set $config . dict }}{{ end -}}
{{- end -}}
{{- if not $config.service.pipelines }}{{ $_ := set $config.service "pipelines" dict }}{{ end -}}
{{- /* Whoever has others, and has set this one to null, gets no more than these ask for. */ -}}
{{- $others := false -}}
{{- range $name, $_ := $config.service.pipelines -}}
{{- if hasPrefix "profiles/" $name }}{{ $others = true }}{{ end -}}
{{- end -}}
{{- $wanted := or (hasKey $config.service.pipelines "profiles") (not $others) -}}
{{- $pipeline := $config.service.pipelines.profiles | default dict -}}
{{- if $wanted }}{{ $_ := set $config.service.pipelines "profiles" $pipeline }}{{ end -}}
{{- if include "profcol.profiles" . -}}
{{- include "profcol.add" (dict "config" $config "kind" "receivers" "name" "profiling" "value" (dict "overhead" (.Values.presets.profiling.overhead | default dict))) -}}
{{- else if and $wanted (not $pipeline.receivers) -}}
{{- $listen := dict "grpc" (dict "endpoint" "[${env:MY_POD_IP}]:4317") -}}
{{- include "profcol.add" (dict "config" $config "kind" "receivers" "name" "otlp" "value" (dict "protocols" $listen)) -}}
{{- end -}}
{{- if .Values.presets.kubernetesAttributes.enabled -}}
{{- include "profcol.add" (dict "config" $config "kind" "processors" "name" "k8s_attributes" "value" (include "profcol.k8sAttributes" . | fromYaml)) -}}
{{- end -}}
{{- if .Values.presets.resourceDetection.enabled -}}
{{- $detectors := .Values.presets.resourceDetection.detectors -}}
{{- include "profcol.add" (dict "config" $config "kind" "processors" "name" "resource_detection" "value" (dict "detectors" $detectors "override" false)) -}}
{{- end -}}
{{- if .Values.presets.web.enabled -}}
{{- $keep := dict "memory" .Values.presets.web.memory "retention" .Values.presets.web.retention -}}
{{- include "profcol.add" (dict "config" $config "kind" "exporters" "name" "web" "value" $keep) -}}
{{- end -}}
{{- if .Values.presets.queueStorage.enabled -}}
{{- include "profcol.storeQueues" (dict "config" $config "maxSize" .Values.presets.queueStorage.maxSize) -}}
{{- end -}}
{{- if and $wanted (not $pipeline.exporters) -}}
{{- include "profcol.add" (dict "config" $config "kind" "exporters" "name" "debug" "value" dict) -}}
{{- end -}}
{{- /* A pod's volume, such as an emptyDir, is mostly writable by all. */ -}}
{{- range $name, $given := $config.exporters -}}
{{- $type := include "profcol.type" $name -}}
{{- $path := ($given | default dict).path | default "" -}}
{{- if or (eq $type "pprof") (and (eq $type "file") (not (hasPrefix "/dev/" $path))) -}}
{{- $_ := set $config.exporters $name (mergeOverwrite (dict "private_subdirectory" true) ($given | default dict)) -}}
{{- end -}}
{{- end -}}
{{- range list "receivers" "processors" "exporters" "extensions" -}}
{{- if not (index $config .) }}{{ $_ := unset $config . }}{{ end -}}
{{- end -}}
{{- tpl ($config | toYaml) . -}}
{{- end -}}

{{- /*
A component's type as it is compared: without its own name, and alike for the older spelling
(k8sattributes/pods, k8s_attributes).
*/ -}}
{{- define "profcol.type" -}}
{{- splitList "/" . | first | replace "_" "" -}}
{{- end -}}

{{- /*
Puts .name with .value among the components of .kind and into the pipeline, unless the user has
done so, under whatever name: what is written there stays. The limiter is the first processor, the
rest come behind it. Without that pipeline it is put among the components if another one names it.
*/ -}}
{{- define "profcol.add" -}}
{{- $components := index .config .kind -}}
{{- $pipeline := .config.service.pipelines.profiles -}}
{{- $has := hasKey .config.service.pipelines "profiles" -}}
{{- $names := index ($pipeline | default dict) .kind | default list -}}
{{- $kind := .kind -}}
{{- if not $has -}}
{{- range $_, $other := .config.service.pipelines -}}
{{- $names = concat $names (index ($other | default dict) $kind | default list) -}}
{{- end -}}
{{- end -}}
{{- $type := include "profcol.type" .name -}}
{{- $used := .name -}}
{{- range keys $components | sortAlpha -}}
{{- if and (eq (include "profcol.type" .) $type) (not (contains "/" .)) }}{{ $used = . }}{{ end -}}
{{- end -}}
{{- range reverse $names -}}
{{- if eq (include "profcol.type" .) $type }}{{ $used = . }}{{ end -}}
{{- end -}}
{{- $given := index $components $used | default dict -}}
{{- if or $has (has $used $names) -}}
{{- $_ := set $components $used (mergeOverwrite (deepCopy .value) $given) -}}
{{- end -}}
{{- if and $has (not (has $used $names)) -}}
{{- $_ := set $pipeline .kind (append $names $used) -}}
{{- end -}}
{{- end -}}

{{- /* Gives exporters with a sending queue the extension, which keeps it on the volume. */ -}}
{{- define "profcol.storeQueues" -}}
{{- $config := .config -}}
{{- $storage := dict "directory" "/var/lib/profcol/queue" "max_size" .maxSize -}}
{{- $_ := set $config.extensions "file_storage" (mergeOverwrite $storage ($config.extensions.file_storage | default dict)) -}}
{{- $extensions := $config.service.extensions | default list -}}
{{- $_ := set $config.service "extensions" (append (without $extensions "file_storage") "file_storage") -}}
{{- range $name, $given := $config.exporters -}}
{{- if has (include "profcol.type" $name) (list "otlpgrpc" "otlp" "otlphttp") -}}
{{- $queue := dict "sending_queue" (dict "storage" "file_storage") -}}
{{- $_ := set $config.exporters $name (mergeOverwrite $queue ($given | default dict)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "profcol.k8sAttributes" -}}
{{- if eq .Values.mode "daemonset" }}
filter:
  node_from_env_var: K8S_NODE_NAME
{{- end }}
extract:
  otel_annotations: true
{{- if .Values.presets.kubernetesAttributes.extractAllPodLabels }}
  labels:
    - {tag_name: $$1, key_regex: (.*), from: pod}
{{- end }}
{{- if .Values.presets.kubernetesAttributes.extractAllPodAnnotations }}
  annotations:
    - {tag_name: $$1, key_regex: (.*), from: pod}
{{- end }}
{{- end -}}

{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- /* The configuration: the user's, and what the presets add to its pipeline `profiles`. */ -}}
{{- define "profcol.config" -}}
{{- $config := deepCopy (.Values.alternateConfig | default .Values.config) -}}
{{- range list "receivers" "processors" "exporters" "extensions" "service" -}}
{{- if not (index $config .) }}{{ $_ := set $config . dict }}{{ end -}}
{{- end -}}
{{- if not $config.service.pipelines }}{{ $_ := set $config.service "pipelines" dict }}{{ end -}}
{{- $pipeline := $config.service.pipelines.profiles | default dict -}}
{{- $_ := set $config.service.pipelines "profiles" $pipeline -}}
{{- if include "profcol.profiles" . -}}
{{- include "profcol.add" (dict "config" $config "kind" "receivers" "name" "profiling" "value" (dict "overhead" (.Values.presets.profiling.overhead | default dict))) -}}
{{- else if not $pipeline.receivers -}}
{{- $listen := dict "grpc" (dict "endpoint" "${env:MY_POD_IP}:4317") -}}
{{- include "profcol.add" (dict "config" $config "kind" "receivers" "name" "otlp" "value" (dict "protocols" $listen)) -}}
{{- end -}}
{{- if .Values.presets.kubernetesAttributes.enabled -}}
{{- include "profcol.add" (dict "config" $config "kind" "processors" "name" "k8s_attributes" "value" (include "profcol.k8sAttributes" . | fromYaml)) -}}
{{- end -}}
{{- if .Values.presets.resourceDetection.enabled -}}
{{- $detectors := .Values.presets.resourceDetection.detectors -}}
{{- include "profcol.add" (dict "config" $config "kind" "processors" "name" "resource_detection" "value" (dict "detectors" $detectors "override" false)) -}}
{{- end -}}
{{- if not $pipeline.exporters -}}
{{- include "profcol.add" (dict "config" $config "kind" "exporters" "name" "debug" "value" dict) -}}
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
rest come behind it.
*/ -}}
{{- define "profcol.add" -}}
{{- $components := index .config .kind -}}
{{- $pipeline := .config.service.pipelines.profiles -}}
{{- $names := index $pipeline .kind | default list -}}
{{- $type := include "profcol.type" .name -}}
{{- $used := .name -}}
{{- range keys $components | sortAlpha -}}
{{- if and (eq (include "profcol.type" .) $type) (not (contains "/" .)) }}{{ $used = . }}{{ end -}}
{{- end -}}
{{- range reverse $names -}}
{{- if eq (include "profcol.type" .) $type }}{{ $used = . }}{{ end -}}
{{- end -}}
{{- $given := index $components $used | default dict -}}
{{- $_ := set $components $used (mergeOverwrite (deepCopy .value) $given) -}}
{{- if not (has $used $names) -}}
{{- $_ := set $pipeline .kind (append $names $used) -}}
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

{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- define "profcol.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "profcol.fullname" -}}
{{- $name := include "profcol.name" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- .Values.fullnameOverride | default $full | trunc 57 | trimSuffix "-" -}}
{{- end -}}

{{- /* Of what runs and what belongs to it: the modes may stand beside each other. */ -}}
{{- define "profcol.workload" -}}
{{- include "profcol.fullname" . }}{{ if eq .Values.mode "daemonset" }}-agent{{ end -}}
{{- end -}}

{{- define "profcol.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- define "profcol.selector" -}}
app.kubernetes.io/name: {{ include "profcol.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
component: {{ ternary "agent-collector" "standalone-collector" (eq .Values.mode "daemonset") }}
{{- end -}}

{{- define "profcol.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "profcol.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.additionalLabels }}
{{ tpl (toYaml .) $ }}
{{- end }}
{{- end -}}

{{- define "profcol.serviceAccount" -}}
{{- $own := ternary (include "profcol.fullname" .) "default" .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default $own -}}
{{- end -}}

{{- define "profcol.clusterRole" -}}
{{- .Values.clusterRole.name | default (include "profcol.fullname" .) -}}
{{- end -}}

{{- /* Helm reads numbers as floats, which `quote` alone writes as 1.2345678e+07. */ -}}
{{- define "profcol.annotations" -}}
{{- range $key, $value := . }}
{{ $key }}: {{ ternary (toJson $value) $value (kindIs "float64" $value) | quote }}
{{- end }}
{{- end -}}

{{- define "profcol.profiles" -}}
{{- if and (eq .Values.mode "daemonset") .Values.presets.profiling.enabled }}true{{ end -}}
{{- end -}}

{{- define "profcol.hasConfigMap" -}}
{{- if or .Values.configMap.create .Values.configMap.existingName }}true{{ end -}}
{{- end -}}

{{- define "profcol.hasClusterRole" -}}
{{- if or .Values.clusterRole.create .Values.presets.kubernetesAttributes.enabled }}true{{ end -}}
{{- end -}}

{{- /* One without ports would be refused. */ -}}
{{- define "profcol.hasService" -}}
{{- $wanted := (kindIs "bool" .Values.service.enabled) | ternary .Values.service.enabled (eq .Values.mode "deployment") -}}
{{- if and $wanted (include "profcol.ports" . | fromYaml).ports }}true{{ end -}}
{{- end -}}

{{- /* {ports: [...]} of those that are on. */ -}}
{{- define "profcol.ports" -}}
{{- $ports := list -}}
{{- range $name, $port := .Values.ports -}}
{{- $unset := and (eq $name "otlp") (eq $.Values.mode "deployment") -}}
{{- if ternary $port.enabled $unset (kindIs "bool" $port.enabled) -}}
{{- $ports = append $ports (merge (dict "name" $name) $port) -}}
{{- end -}}
{{- end -}}
{{- dict "ports" $ports | toYaml -}}
{{- end -}}

{{- /*
"true" when the configuration asks the API server: then, and only then, the pod is given the
account's token. One that is there already may do so.
*/ -}}
{{- define "profcol.asksKubernetes" -}}
{{- if not .Values.configMap.create }}true{{ end -}}
{{- $config := include "profcol.config" . | fromYaml -}}
{{- range $name, $given := $config.processors -}}
{{- $type := include "profcol.type" $name -}}
{{- $detectors := ($given | default dict).detectors | default list -}}
{{- if or (eq $type "k8sattributes") (and (eq $type "resourcedetection") (or (has "k8snode" $detectors) (has "k8s_api" $detectors) (has "eks" $detectors) (has "openshift" $detectors))) -}}
true
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "profcol.automountToken" -}}
{{- if kindIs "bool" .Values.serviceAccount.automountServiceAccountToken -}}
{{- .Values.serviceAccount.automountServiceAccountToken -}}
{{- else -}}
{{- not (empty (include "profcol.asksKubernetes" .)) -}}
{{- end -}}
{{- end -}}

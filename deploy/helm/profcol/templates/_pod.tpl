{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- /* What the mode takes and nothing else; docs/security.md says what each capability is for. */ -}}
{{- define "profcol.securityContext" -}}
privileged: false
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
{{- if include "profcol.profiles" . }}
runAsUser: 0
runAsGroup: 0
seccompProfile:
  type: Unconfined
{{- if semverCompare ">= 1.30-0" .Capabilities.KubeVersion.Version }}
appArmorProfile:
  type: Unconfined
{{- end }}
seLinuxOptions:
  type: spc_t
capabilities:
  drop: [ALL]
  add: [BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH, CHECKPOINT_RESTORE, SYSLOG
    {{- if .Values.presets.profiling.ownWorkerUser }}, SETUID, SETGID, SETPCAP, KILL{{ end }}]
{{- else }}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
seccompProfile:
  type: RuntimeDefault
capabilities:
  drop: [ALL]
{{- end }}
{{- end -}}

{{- define "profcol.fieldEnv" -}}
- name: {{ index . 0 }}
  valueFrom:
    fieldRef:
      fieldPath: {{ index . 1 }}
{{- end -}}

{{- define "profcol.env" -}}
{{- $fields := list (list "MY_POD_IP" "status.podIP") (list "K8S_NODE_NAME" "spec.nodeName")
	(list "K8S_NODE_IP" "status.hostIP") (list "OTEL_K8S_NODE_NAME" "spec.nodeName")
	(list "OTEL_K8S_NODE_IP" "status.hostIP") (list "OTEL_K8S_NAMESPACE" "metadata.namespace")
	(list "OTEL_K8S_POD_NAME" "metadata.name") (list "OTEL_K8S_POD_IP" "status.podIP") -}}
{{- range $fields }}
{{ include "profcol.fieldEnv" . }}
{{- end }}
{{- with .Values.extraEnvs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "profcol.image" -}}
{{- $registry := (.Values.global).imageRegistry -}}
{{- $name := ternary (printf "%s/%s" $registry .Values.image.repository) .Values.image.repository (not (empty $registry)) -}}
{{- if .Values.image.digest -}}
{{ $name }}@{{ .Values.image.digest }}
{{- else -}}
{{ $name }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "profcol.container" -}}
name: {{ .Chart.Name }}
image: {{ include "profcol.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- with .Values.command.name }}
command: [/{{ . }}]
{{- end }}
args:
  {{- if include "profcol.hasConfigMap" . }}
  - --config=/conf/relay.yaml
  {{- end }}
  {{- with .Values.command.extraArgs }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
securityContext:
  {{- .Values.securityContext | default (include "profcol.securityContext" . | fromYaml) | toYaml | nindent 2 }}
{{- with (include "profcol.ports" . | fromYaml).ports }}
ports:
  {{- range . }}
  - name: {{ .name }}
    containerPort: {{ .containerPort }}
    protocol: {{ .protocol | default "TCP" }}
    {{- with .hostPort }}
    hostPort: {{ . }}
    {{- end }}
  {{- end }}
{{- end }}
env:
  {{- include "profcol.env" . | trim | nindent 2 }}
{{- range $key, $value := dict "envFrom" .Values.extraEnvsFrom "lifecycle" .Values.lifecycleHooks
	"livenessProbe" .Values.livenessProbe "readinessProbe" .Values.readinessProbe
	"startupProbe" .Values.startupProbe "resources" .Values.resources
	"resizePolicy" .Values.resizePolicy }}
{{- with $value }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
volumeMounts:
  {{- if include "profcol.hasConfigMap" . }}
  - name: configuration
    mountPath: /conf
    readOnly: true
  {{- end }}
  {{- if .Values.presets.queueStorage.enabled }}
  - name: queue
    mountPath: /var/lib/profcol/queue
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- tpl (toYaml .) $ | nindent 2 }}
  {{- end }}
{{- end -}}

{{- /* Before Kubernetes knew the field appArmorProfile. */ -}}
{{- define "profcol.appArmorAnnotation" -}}
{{- $key := printf "container.apparmor.security.beta.kubernetes.io/%s" .Chart.Name -}}
{{- $own := or .Values.securityContext (hasKey .Values.podAnnotations $key) -}}
{{- if and (include "profcol.profiles" .) (not $own) (semverCompare "< 1.30-0" .Capabilities.KubeVersion.Version) -}}
{{ $key }}: unconfined
{{- end -}}
{{- end -}}

{{- define "profcol.podAnnotations" -}}
{{- with include "profcol.appArmorAnnotation" . }}
{{ . }}
{{- end }}
{{- if and .Values.enableConfigChecksumAnnotation .Values.configMap.create }}
checksum/config: {{ include "profcol.config" . | sha256sum }}
{{- end }}
{{- with .Values.podAnnotations }}
{{ tpl (include "profcol.annotations" .) $ }}
{{- end }}
{{- end -}}

{{- define "profcol.tolerations" -}}
{{- $all := list (dict "operator" "Exists") -}}
{{- if kindIs "slice" .Values.tolerations -}}
{{- toYaml .Values.tolerations -}}
{{- else if eq .Values.mode "daemonset" -}}
{{- toYaml $all -}}
{{- else -}}
[]
{{- end -}}
{{- end -}}

{{- define "profcol.volumes" -}}
{{- if include "profcol.hasConfigMap" . }}
- name: configuration
  configMap:
    name: {{ .Values.configMap.existingName | default (include "profcol.workload" .) }}
    items:
      - key: relay
        path: relay.yaml
{{- end }}
{{- with .Values.presets.queueStorage }}
{{- if .enabled }}
- name: queue
  {{- if and .hostPath (eq $.Values.mode "daemonset") }}
  hostPath:
    path: {{ .hostPath }}
    type: DirectoryOrCreate
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ tpl (toYaml .) $ }}
{{- end }}
{{- end -}}

{{- define "profcol.pod" -}}
metadata:
  labels:
    {{- include "profcol.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- tpl (toYaml .) $ | nindent 4 }}
    {{- end }}
  {{- with include "profcol.podAnnotations" . | trim }}
  annotations:
    {{- . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "profcol.serviceAccount" . }}
  automountServiceAccountToken: {{ include "profcol.automountToken" . }}
  hostPID: {{ or .Values.hostPID (not (empty (include "profcol.profiles" .))) }}
  hostNetwork: {{ .Values.hostNetwork }}
  {{- if .Values.shareProcessNamespace }}
  shareProcessNamespace: true
  {{- end }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- range $key, $value := dict "imagePullSecrets" .Values.imagePullSecrets
	"securityContext" .Values.podSecurityContext "nodeSelector" .Values.nodeSelector
	"tolerations" (include "profcol.tolerations" . | fromYamlArray) "affinity" .Values.affinity
	"topologySpreadConstraints" .Values.topologySpreadConstraints
	"priorityClassName" .Values.priorityClassName "runtimeClassName" .Values.runtimeClassName
	"hostAliases" .Values.hostAliases "dnsPolicy" .Values.dnsPolicy
	"dnsConfig" .Values.dnsConfig "schedulerName" .Values.schedulerName }}
  {{- with $value }}
  {{ $key }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  containers:
    - {{ include "profcol.container" . | nindent 6 | trim }}
    {{- with .Values.extraContainers }}
    {{- tpl (toYaml .) $ | nindent 4 }}
    {{- end }}
  {{- with .Values.initContainers }}
  initContainers:
    {{- tpl (toYaml .) $ | nindent 4 }}
  {{- end }}
  {{- with include "profcol.volumes" . | trim }}
  volumes:
    {{- . | nindent 4 }}
  {{- end }}
{{- end -}}

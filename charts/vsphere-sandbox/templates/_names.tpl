{{/* On everything. What the sandbox makes by itself says app.kubernetes.io/managed-by=vsphere-sandbox. */}}
{{- define "sandbox.labels" -}}
app.kubernetes.io/name: vsphere-sandbox
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/part-of: vsphere-sandbox
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- define "sandbox.selector" -}}
app.kubernetes.io/name: vsphere-sandbox
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "sandbox.image" -}}
{{- if .Values.image.digest -}}
{{ printf "%s@%s" .Values.image.repository .Values.image.digest | quote }}
{{- else -}}
{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
{{- end -}}
{{- end }}

{{/* The file with the topology; nothing where a scenario is built. */}}
{{- define "sandbox.file" -}}
{{- if .Values.topologyGzip }}topology.yaml.gz{{ else if .Values.topology }}topology.yaml{{ end }}
{{- end }}

{{/* Cluster-wide objects have the release in their name. */}}
{{- define "sandbox.role" -}}
vsphere-sandbox:{{ .root.Release.Name }}:{{ .component }}
{{- end }}

{{/* What is the same in both pods. */}}
{{- define "sandbox.pod" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "sandbox.container" -}}
image: {{ include "sandbox.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{- with .values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop:
      - ALL
{{- end }}

{{- define "sandbox.metadata" -}}
{{- with .root.Values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
labels:
  {{- include "sandbox.labels" . | nindent 2 }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

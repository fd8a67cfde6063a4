{{/* The name of everything without a separate name in the values. A cluster has one cloud controller manager for
     vSphere, so the name of the release is not in it. */}}
{{- define "ccm.name" -}}
vsphere-cloud-controller-manager
{{- end }}

{{- define "ccm.labels" -}}
app.kubernetes.io/name: {{ include "ccm.name" . }}
{{- end }}

{{- define "ccm.image" -}}
{{- with .Values.image }}
{{- if .digest }}
{{- printf "%s@%s" .repository .digest }}
{{- else }}
{{- printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "ccm.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ .Values.serviceAccount.name | quote }}
    namespace: {{ .Release.Namespace | quote }}
{{- end }}

{{- define "ccm.roleRef" -}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
{{- end }}

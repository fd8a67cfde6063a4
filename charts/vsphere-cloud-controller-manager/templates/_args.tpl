{{/* The command line, as a YAML list. */}}
{{- define "ccm.args" -}}
- --cloud-provider=vsphere
- --cloud-config=/etc/cloud/vsphere.conf
- --v={{ .Values.logLevel }}
- --leader-elect={{ .Values.leaderElection.enabled }}
{{- if .Values.leaderElection.enabled }}
- {{ printf "--leader-elect-resource-namespace=%s" .Values.leaderElection.namespace | quote }}
{{- end }}
- --health-address=127.0.0.1:{{ .Values.health.port }}
- --secure-port={{ .Values.metrics.securePort }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

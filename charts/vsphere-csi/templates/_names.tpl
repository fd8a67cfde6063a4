{{- define "csi.labels" -}}
app.kubernetes.io/name: vsphere-csi
{{- end }}

{{- define "csi.image" -}}
{{- printf "%s:%s" .image.repository (.image.tag | default .root.Chart.AppVersion) | quote }}
{{- end }}

{{- define "csi.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Scheduling and ServiceAccount of the controllers' pods. */}}
{{- define "csi.controllerPod" -}}
priorityClassName: system-cluster-critical
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.controller.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.controller.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.controller.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "csi.restricted" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop:
      - ALL
{{- end }}

{{- define "csi.liveness" -}}
livenessProbe:
  httpGet:
    host: 127.0.0.1
    path: /healthz
    port: {{ . }}
  initialDelaySeconds: 10
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end }}

{{/* Flags of every sidecar. */}}
{{- define "csi.sidecarFlags" -}}
- --kube-api-qps={{ .Values.sidecars.kubeAPIQPS }}
- --kube-api-burst={{ .Values.sidecars.kubeAPIBurst }}
- --leader-election=true
- {{ printf "--leader-election-namespace=%s" .Release.Namespace | quote }}
- --v={{ .Values.logLevel }}
- --retry-interval-start={{ .Values.sidecars.retryIntervalStart }}
- --retry-interval-max={{ .Values.sidecars.retryIntervalMax }}
{{- end }}

{{/* One of the sidecars, with its flags. */}}
{{- define "csi.sidecar" -}}
- name: {{ .name }}
  image: {{ include "csi.image" (dict "root" .root "image" .root.Values.image.sidecars) }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args:
    - {{ .name }}
    - --csi-address=/csi/csi.sock
    - --timeout={{ .root.Values.sidecars.timeout }}
    {{- include "csi.sidecarFlags" .root | nindent 4 }}
    {{- range .flags }}
    - {{ . }}
    {{- end }}
  {{- with .root.Values.sidecars.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- include "csi.restricted" . | nindent 2 }}
  volumeMounts:
    - name: socket
      mountPath: /csi
{{- end }}

{{/* The ServiceAccount of a process: the sidecars are in the controller's pod. */}}
{{- define "csi.account" -}}
{{- if has . (list "vsphere-csi-node" "snapshot-controller") }}{{ . }}{{ else }}vsphere-csi-controller{{ end }}
{{- end }}

{{/* Checks that a schema cannot express, or not with a clear message. */}}
{{- define "ccm.validate" -}}
{{- $names := dict }}
{{- range $i, $vc := .Values.vcenters }}
{{- $at := printf "vcenters[%d] (%s)" $i $vc.name }}
{{- if hasKey $names $vc.name }}
{{- fail (printf "%s: the name is taken by another vCenter" $at) }}
{{- end }}
{{- $_ := set $names $vc.name true }}
{{- if regexMatch "^[^:]+:[0-9]+$" $vc.server }}
{{- fail (printf "%s: the server %s contains a port: set port instead" $at $vc.server) }}
{{- end }}
{{- if and $vc.ca $vc.caFile }}
{{- fail (printf "%s: set either ca or caFile, not both" $at) }}
{{- end }}
{{- if $vc.secretName }}
{{- if or $vc.username $vc.password }}
{{- fail (printf "%s: its credentials are in the Secret %s: remove username and password" $at $vc.secretName) }}
{{- end }}
{{- else if $.Values.credentials.create }}
{{- if not (and $vc.username $vc.password) }}
{{- fail (printf "%s: set username and password, or secretName, or set credentials.create to false" $at) }}
{{- end }}
{{- else if or $vc.username $vc.password }}
{{- fail (printf "%s: username and password have no effect while credentials.create is false" $at) }}
{{- end }}
{{- end }}
{{- if ne (empty .Values.labels.region) (empty .Values.labels.zone) }}
{{- fail "labels: set both region and zone" }}
{{- end }}
{{- if ne (empty .Values.nsxt) (empty .Values.loadBalancer) }}
{{- fail "nsxt, loadBalancer: set both, or neither" }}
{{- end }}
{{- end }}

{{/* The name of the file with a vCenter's certificate authority. */}}
{{- define "ccm.caKey" -}}
ca-{{ .name }}.crt
{{- end }}

{{/* "true" if a vCenter has its credentials in the common Secret. */}}
{{- define "ccm.shared" -}}
{{- range .Values.vcenters }}{{ if not .secretName }}true{{ break }}{{ end }}{{ end }}
{{- end }}

{{/* vsphere.conf. */}}
{{- define "ccm.config" -}}
{{- $conf := dict }}
{{- if include "ccm.shared" . }}
{{- $_ := set $conf "global" (dict "secretName" .Values.credentials.secretName "secretNamespace" .Release.Namespace) }}
{{- end }}
{{- $all := dict }}
{{- range $vc := .Values.vcenters }}
{{- $one := dict }}
{{- range $key := list "server" "port" "datacenters" "caFile" "thumbprint" "insecureFlag" "ipFamily" "soapRoundtripCount" "secretName" }}
{{- $value := get $vc $key }}
{{- if or $value (kindIs "bool" $value) }}
{{- $_ := set $one $key $value }}
{{- end }}
{{- end }}
{{- if $vc.ca }}
{{- $_ := set $one "caFile" (printf "/etc/cloud/%s" (include "ccm.caKey" $vc)) }}
{{- end }}
{{- if $vc.secretName }}
{{- $_ := set $one "secretNamespace" $.Release.Namespace }}
{{- end }}
{{- $_ := set $all $vc.name $one }}
{{- end }}
{{- $_ := set $conf "vcenter" $all }}
{{- with .Values.labels }}
{{- if .region }}
{{- $_ := set $conf "labels" (dict "region" .region "zone" .zone) }}
{{- end }}
{{- end }}
{{- $nodes := dict }}
{{- range $key, $value := .Values.nodes }}
{{- if $value }}
{{- $_ := set $nodes $key $value }}
{{- end }}
{{- end }}
{{- if $nodes }}
{{- $_ := set $conf "nodes" $nodes }}
{{- end }}
{{- if .Values.nsxt }}
{{- $nsxt := dict }}
{{- if get .Values.nsxt "secretName" }}
{{- $_ := set $nsxt "secretNamespace" .Release.Namespace }}
{{- end }}
{{- $_ := set $conf "nsxt" (merge $nsxt .Values.nsxt) }}
{{- end }}
{{- range $key := list "loadBalancer" "loadBalancerClass" }}
{{- with get $.Values $key }}
{{- $_ := set $conf $key . }}
{{- end }}
{{- end }}
{{- toYaml $conf }}
{{- end }}

{{/* The keys of the Secret: of the server, or of the name where several connections lead to one server, each with an account of its
     own. A key cannot contain the colons of an IPv6 address, so such a server has a separate key. */}}
{{- define "ccm.credentials" -}}
{{- $data := dict }}
{{- $count := dict }}
{{- range .Values.vcenters }}
{{- $server := lower .server }}
{{- $_ := set $count $server (add1 (get $count $server | default 0)) }}
{{- end }}
{{- range .Values.vcenters }}
{{- if not .secretName }}
{{- if gt (get $count (lower .server) | int) 1 }}
{{- $_ := set $data (printf "%s.username" .name) .username }}
{{- $_ := set $data (printf "%s.password" .name) .password }}
{{- else if contains ":" .server }}
{{- $_ := set $data (printf "server_%s" .name) .server }}
{{- $_ := set $data (printf "username_%s" .name) .username }}
{{- $_ := set $data (printf "password_%s" .name) .password }}
{{- else }}
{{- $_ := set $data (printf "%s.username" .server) .username }}
{{- $_ := set $data (printf "%s.password" .server) .password }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $data }}
{{- end }}

{{/* The Secrets that must be readable, as a YAML list without duplicates. */}}
{{- define "ccm.secretNames" -}}
{{- $names := .Values.rbac.secretNames }}
{{- if .Values.config.create }}
{{- if include "ccm.shared" . }}
{{- $names = append $names .Values.credentials.secretName }}
{{- end }}
{{- range .Values.vcenters }}
{{- if .secretName }}
{{- $names = append $names .secretName }}
{{- end }}
{{- end }}
{{- with get .Values.nsxt "secretName" }}
{{- $names = append $names . }}
{{- end }}
{{- end }}
{{- with $names | uniq | sortAlpha }}
{{- toYaml . }}
{{- end }}
{{- end }}

// Package config parses vsphere.conf, the configuration file of the vSphere cloud provider, with the keys of upstream's
// kubernetes/cloud-provider-vsphere, in YAML:
//
//	global:
//	  secretName: vsphere-creds
//	  secretNamespace: kube-system
//	  caFile: /etc/cloud/ca.crt
//	vcenter:
//	  west:
//	    server: vc-west.example
//	    datacenters: [dc1, /eu/dc2]
//	labels:
//	  region: k8s-region
//	  zone: k8s-zone
//
// or in INI, in the format of upstream or of the in-tree provider:
//
//	[Global]
//	secret-name = vsphere-creds
//	secret-namespace = kube-system
//	[VirtualCenter "vc-west.example"]
//	datacenters = dc1, /eu/dc2
//
// [Load] returns a [Config] from a file and, with [WithEnvironment], upstream's variables. [Check] also returns warnings
// about settings without effect. Parsing is strict: an unknown key is an error with its line and the nearest known key, and
// all errors of a file are reported at once.
//
// Credentials that are not in the file are in a Secret ([ParseSecret]) or in a directory with the same keys ([Directory]).
// Both the directory and the file ([File]) can be watched for changes.
//
// The package makes no connections and uses no Kubernetes API; package provider does.
//
// Floor 1: it imports nothing of this module.
package config

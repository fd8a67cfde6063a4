// Package config reads vsphere.conf, the configuration file of the vSphere cloud provider, in the YAML form and with
// the keys of upstream's kubernetes/cloud-provider-vsphere.
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
// Reading is strict: a key that nobody knows is an error with its line and the nearest known key, and all errors of a
// file are told at once.
//
// Floor 1: it imports nothing of this module.
package config

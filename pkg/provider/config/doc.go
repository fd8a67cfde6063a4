// Package config reads vsphere.conf, the configuration file of the vSphere cloud provider, with the keys of upstream's
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
// or in INI, upstream's or that of the provider which was in Kubernetes itself:
//
//	[Global]
//	secret-name = vsphere-creds
//	secret-namespace = kube-system
//	[VirtualCenter "vc-west.example"]
//	datacenters = dc1, /eu/dc2
//
// [Load] makes a [Config] of a file and, [WithEnvironment], of upstream's variables; [Check] also tells what a valid
// file says to no effect. Reading is strict: a key that nobody knows is an error with its line and the nearest known
// key, and all errors of a file are told at once.
//
// Credentials that are not in the file are in a Secret ([ParseSecret]) or in a directory like one ([Directory]). Both
// the directory and the file ([File]) can be followed as they change.
//
// It makes no connection and knows no Kubernetes API: package provider does.
//
// Floor 1: it imports nothing of this module.
package config

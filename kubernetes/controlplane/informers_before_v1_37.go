//go:build before_v1_37

package controlplane

import "k8s.io/kubernetes/cmd/kube-apiserver/app/options"

// nameInformers does nothing: informers have no names before v1.37.
func nameInformers(*options.CompletedOptions, string) error { return nil }

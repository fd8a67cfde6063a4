//go:build !before_v1_37

package controlplane

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// nameInformers sets the name of an API server's informers in metrics, as app.Run does.
func nameInformers(opts *options.CompletedOptions, name string) (err error) {
	opts.InformerName, err = cache.NewInformerName(name)
	return err
}

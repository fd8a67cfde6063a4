package csi

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Kubernetes is clients of one cluster.
type Kubernetes struct {
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
}

// connect makes clients for a kubeconfig, or for the pod that this is. It makes no call.
func connect(kubeconfig string) (*Kubernetes, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	switch {
	case kubeconfig == "" && errors.Is(err, rest.ErrNotInCluster), clientcmd.IsEmptyConfig(err):
		return nil, errors.New("no API server: this is no pod, and --kubeconfig is missing")
	case err != nil:
		return nil, err
	}
	// The API server has a fairness of its own; a thousand nodes that ask for their topology need not wait for this.
	cfg.QPS, cfg.Burst = 200, 400
	cfg.UserAgent = commandName + "/" + version()
	var k Kubernetes
	if k.Client, err = kubernetes.NewForConfig(cfg); err != nil {
		return nil, err
	}
	if k.Dynamic, err = dynamic.NewForConfig(cfg); err != nil {
		return nil, err
	}
	return &k, nil
}

// clusterUID is what tells a cluster from others for as long as it lives.
func (k *Kubernetes) clusterUID(ctx context.Context) (string, error) {
	ns, err := k.Client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("--cluster-id is missing, and so is the right to see the UID of namespace %s: %w", metav1.NamespaceSystem, err)
	}
	return string(ns.UID), nil
}

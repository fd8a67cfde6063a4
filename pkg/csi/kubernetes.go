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

// Kubernetes contains the clients of one cluster.
type Kubernetes struct {
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
}

// connect creates clients from a kubeconfig, or in a pod. It makes no calls.
func connect(kubeconfig string) (*Kubernetes, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	switch {
	case kubeconfig == "" && errors.Is(err, rest.ErrNotInCluster), clientcmd.IsEmptyConfig(err):
		return nil, errors.New("no API server: not in a pod, and --kubeconfig is missing")
	case err != nil:
		return nil, err
	}
	// The API server protects itself with priority and fairness; a thousand nodes must not wait for this limit.
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

// clusterUID returns the UID of kube-system, which identifies a cluster for its lifetime.
func (k *Kubernetes) clusterUID(ctx context.Context) (string, error) {
	ns, err := k.Client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("--cluster-id is missing, and the UID of namespace %s is not readable: %w", metav1.NamespaceSystem, err)
	}
	return string(ns.UID), nil
}

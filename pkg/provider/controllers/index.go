package controllers

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// indexName is the name of the index of nodes by VM.
const indexName = "vsphere/vm"

func addIndex(informer cache.SharedIndexInformer) error {
	if _, ok := informer.GetIndexer().GetIndexers()[indexName]; ok {
		return nil
	}
	if err := informer.AddIndexers(cache.Indexers{indexName: indexNode}); err != nil {
		return fmt.Errorf("index nodes by vm: %w", err)
	}
	return nil
}

// indexNode is a [cache.IndexFunc]. It returns the VM that a node is bound to, else that of its system UUID.
func indexNode(obj any) ([]string, error) {
	node, ok := obj.(*corev1.Node)
	switch {
	case !ok:
		return nil, nil
	case node.Spec.ProviderID != "":
		return []string{vmKey(node.Spec.ProviderID)}, nil
	case node.Status.NodeInfo.SystemUUID != "":
		return []string{vmKey(node.Status.NodeInfo.SystemUUID)}, nil
	}
	return nil, nil
}

// vmKey is the same for all spellings of a VM's UUID: as a providerID or bare, in either byte order.
func vmKey(id string) string {
	u, err := match.ParseProviderID(id)
	if err != nil {
		return strings.ToLower(strings.TrimSpace(id))
	}
	return min(u.String(), u.Swapped().String())
}

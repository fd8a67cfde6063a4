package controllers

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// indexName is that of the index over nodes by VM.
const indexName = "vsphere/vm"

// addIndex gives the informer the index over nodes by VM.
func addIndex(informer cache.SharedIndexInformer) error {
	if _, ok := informer.GetIndexer().GetIndexers()[indexName]; ok {
		return nil
	}
	if err := informer.AddIndexers(cache.Indexers{indexName: indexNode}); err != nil {
		return fmt.Errorf("index nodes by vm: %w", err)
	}
	return nil
}

// indexNode is a [cache.IndexFunc]: the VM that a node is bound to, or while it is bound to none, the one that its
// system UUID says.
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

// vmKey is the same for every way to write the UUID of one VM, as a providerID or bare, in either byte order.
func vmKey(id string) string {
	u, err := match.ParseProviderID(id)
	if err != nil {
		return strings.ToLower(strings.TrimSpace(id))
	}
	return min(u.String(), u.Swapped().String())
}

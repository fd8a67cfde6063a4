package provider

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// checkNodeLabels validates labels for nodes. Upstream checks only the keys: a value that the API server refuses fails at
// every node forever (cmd/vsphere-cloud-controller-manager/main.go).
func checkNodeLabels(labels map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			return fmt.Errorf("node label %q: key is not a qualified name: %s", key, strings.Join(problems, "; "))
		}
		if problems := validation.IsValidLabelValue(labels[key]); len(problems) > 0 {
			return fmt.Errorf("node label %q: value %q: %s", key, labels[key], strings.Join(problems, "; "))
		}
	}
	return nil
}

// warnNodeLabels logs labels that no node will get: the node controller of k8s.io/cloud-provider drops those in
// Kubernetes' own domains.
func warnNodeLabels(log *slog.Logger, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		prefix, _, _ := strings.Cut(key, "/")
		for _, domain := range []string{"kubernetes.io", "k8s.io"} {
			if prefix != key && (prefix == domain || strings.HasSuffix(prefix, "."+domain)) {
				log.Warn("node label is dropped", "label", key, "why", "the domain is reserved")
			}
		}
	}
}

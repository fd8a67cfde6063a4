package embedded

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// probe names what the control plane still lacks; "" means nothing.
func (c *Cluster) probe(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var status int
	body, err := c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Param("verbose", "").Do(ctx).StatusCode(&status).Raw()
	switch {
	case status == 0:
		return "the API server to answer"
	case err != nil:
		return "the API server: " + unready(string(body))
	}
	_, err = c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "the controller manager to make the default ServiceAccount"
	case err != nil:
		return "the API server to serve ServiceAccounts"
	}
	return ""
}

// unready picks the failing checks out of the verbose answer of /readyz ("[-]poststarthook/x failed: reason withheld").
func unready(verbose string) string {
	var failing []string
	for line := range strings.Lines(verbose) {
		if check, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ := strings.Cut(check, " ")
			failing = append(failing, name)
		}
	}
	if len(failing) == 0 {
		return "starting"
	}
	return strings.Join(failing, ", ")
}

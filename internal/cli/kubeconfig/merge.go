package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Context is the name of the context, cluster and user of the sandbox of that name.
func Context(sandbox string) string { return "vsphere-sandbox-" + sandbox }

// Merge puts what admin, a kubeconfig with one current context, has into the file at path, and makes its context the
// current one. Entries of the same names are replaced.
func Merge(ctx context.Context, path string, admin []byte) error {
	from, err := clientcmd.Load(admin)
	if err != nil {
		return fmt.Errorf("the sandbox's kubeconfig: %w", err)
	}
	if from.Contexts[from.CurrentContext] == nil {
		return fmt.Errorf("the sandbox's kubeconfig: there is no context %q", from.CurrentContext)
	}
	return edit(ctx, path, func(c *clientcmdapi.Config) (bool, error) {
		maps.Copy(c.Clusters, from.Clusters)
		maps.Copy(c.AuthInfos, from.AuthInfos)
		maps.Copy(c.Contexts, from.Contexts)
		c.CurrentContext = from.CurrentContext
		return true, nil
	})
}

// Unmerge takes the context of that name out of the file at path, and the cluster and user that no other context uses.
// It tells whether there was one. No context is current then, if that one was.
func Unmerge(ctx context.Context, path, name string) (found bool, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = edit(ctx, path, func(c *clientcmdapi.Config) (bool, error) {
		gone := c.Contexts[name]
		if gone == nil {
			return false, nil
		}
		found = true
		delete(c.Contexts, name)
		clusterUsed, userUsed := false, false
		for _, other := range c.Contexts {
			clusterUsed = clusterUsed || other.Cluster == gone.Cluster
			userUsed = userUsed || other.AuthInfo == gone.AuthInfo
		}
		if !clusterUsed {
			delete(c.Clusters, gone.Cluster)
		}
		if !userUsed {
			delete(c.AuthInfos, gone.AuthInfo)
		}
		if c.CurrentContext == name {
			c.CurrentContext = ""
		}
		return true, nil
	})
	return found, err
}

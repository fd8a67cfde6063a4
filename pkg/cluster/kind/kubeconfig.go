package kind

import (
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// connect writes the admin's kubeconfig and makes the clients.
func (c *Cluster) connect(l *logger) error {
	text, err := c.provider(l).KubeConfig(c.Name(), false)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if err := writeKubeconfig(c.Kubeconfig(), c.Context(), text); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if c.rest, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig()); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	// The sandbox sets up a cluster in one go; the client's own rate limit would only make it wait.
	c.rest.QPS, c.rest.Burst = 200, 400
	c.rest.UserAgent = "vsphere-sandbox"
	c.client, err = kubernetes.NewForConfig(c.rest)
	return err
}

// writeKubeconfig writes kind's kubeconfig, for its owner only, with a context of our name: kind's is "kind-" and the cluster's.
func writeKubeconfig(path, context, text string) error {
	from, err := clientcmd.Load([]byte(text))
	if err != nil {
		return err
	}
	current := from.Contexts[from.CurrentContext]
	if current == nil {
		return fmt.Errorf("kind's has no context %q", from.CurrentContext)
	}
	out := clientcmdapi.NewConfig()
	out.Clusters[context], out.AuthInfos[context] = from.Clusters[current.Cluster], from.AuthInfos[current.AuthInfo]
	out.Contexts[context] = &clientcmdapi.Context{Cluster: context, AuthInfo: context}
	out.CurrentContext = context
	if out.Clusters[context] == nil || out.AuthInfos[context] == nil {
		return fmt.Errorf("kind's has no cluster %q or no user %q", current.Cluster, current.AuthInfo)
	}
	return clientcmd.WriteToFile(*out, path)
}

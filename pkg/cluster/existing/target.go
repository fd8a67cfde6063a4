package existing

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
)

// Target selects a cluster, as kubectl's flags do. The zero value selects kubectl's default.
type Target struct {
	// Kubeconfig is a path. Default: $KUBECONFIG, else ~/.kube/config.
	Kubeconfig string
	// Context is a context in it. Default: the current one.
	Context string
}

// Cluster is a cluster that was there before. Make it with [Open], or with [InCluster] in a pod of it. Its methods may be
// called from any goroutine.
type Cluster struct {
	rest       *rest.Config
	client     kubernetes.Interface
	server     *url.URL
	kubeconfig string
	context    string
}

var _ cluster.Cluster = (*Cluster)(nil)

// Patience is the timeout of one request: an unresponsive cluster must be reported within seconds.
const Patience = 10 * time.Second

// Open reads a kubeconfig and writes what it says of the one context to dir/kubeconfig, for its owner only: with every
// certificate in it, so that it stays what it is while the user's own file changes. It asks the cluster nothing. The error is
// an [*coded.Error].
func Open(t Target, dir string) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = t.Kubeconfig
	raw, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).RawConfig()
	if err != nil {
		return nil, explainKubeconfig(t, err)
	}
	one, err := minified(raw, t)
	if err != nil {
		return nil, err
	}
	c := &Cluster{kubeconfig: filepath.Join(dir, "kubeconfig"), context: one.CurrentContext}
	if c.rest, err = clientcmd.NewDefaultClientConfig(*one, &clientcmd.ConfigOverrides{}).ClientConfig(); err != nil {
		return nil, explainKubeconfig(t, err)
	}
	if err := clientcmd.WriteToFile(*one, c.kubeconfig); err != nil { // 0600
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return c, c.connect()
}

// minified is the kubeconfig with nothing but the context that is meant.
func minified(raw clientcmdapi.Config, t Target) (*clientcmdapi.Config, error) {
	if t.Context != "" {
		raw.CurrentContext = t.Context
	}
	switch _, ok := raw.Contexts[raw.CurrentContext]; {
	case len(raw.Contexts) == 0:
		return nil, &coded.Error{
			Code: CodeKubeconfig, Message: "there is no kubeconfig, so no cluster is known",
			Try: "--kubeconfig FILE, or export KUBECONFIG=FILE",
		}
	case raw.CurrentContext == "":
		return nil, &coded.Error{Code: CodeKubeconfig, Message: "the kubeconfig has no current context", Try: "--context NAME\nkubectl config get-contexts"}
	case !ok:
		return nil, &coded.Error{
			Code: CodeKubeconfig, Message: fmt.Sprintf("the kubeconfig has no context %q", raw.CurrentContext), Try: "kubectl config get-contexts",
		}
	}
	if err := clientcmdapi.MinifyConfig(&raw); err != nil {
		return nil, explainKubeconfig(t, err)
	}
	if err := clientcmdapi.FlattenConfig(&raw); err != nil {
		return nil, explainKubeconfig(t, err)
	}
	return &raw, nil
}

func explainKubeconfig(t Target, err error) error {
	e := &coded.Error{Code: CodeKubeconfig, Message: "the kubeconfig cannot be used", Try: "kubectl config view", Err: err}
	if errors.Is(err, fs.ErrNotExist) && t.Kubeconfig != "" {
		e.Message, e.Try, e.Err = fmt.Sprintf("there is no kubeconfig %s", t.Kubeconfig), "--kubeconfig FILE", nil
	}
	return e
}

// connect makes the clients of c.rest.
func (c *Cluster) connect() (err error) {
	// A cluster is set up in one go; the client's own rate limit would only make it wait.
	c.rest.QPS, c.rest.Burst = 200, 400
	c.rest.UserAgent = "vsphere-sandbox"
	if c.server, _, err = rest.DefaultServerUrlFor(c.rest); err != nil {
		return &coded.Error{Code: CodeKubeconfig, Message: "the kubeconfig names no server that can be reached", Try: "kubectl config view", Err: err}
	}
	if c.client, err = kubernetes.NewForConfig(c.rest); err != nil {
		return &coded.Error{Code: CodeKubeconfig, Message: "the kubeconfig cannot be used", Try: "kubectl config view", Err: err}
	}
	return nil
}

// Client implements [cluster.Cluster].
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// REST implements [cluster.Cluster].
func (c *Cluster) REST() *rest.Config { return rest.CopyConfig(c.rest) }

// Server implements [cluster.Cluster].
func (c *Cluster) Server() string { return c.server.String() }

// Addr implements [cluster.Cluster].
func (c *Cluster) Addr() string {
	if c.server.Port() == "" {
		return c.server.Host + ":443"
	}
	return c.server.Host
}

// Kubeconfig implements [cluster.Cluster].
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// Context implements [cluster.Cluster].
func (c *Cluster) Context() string { return c.context }

// Token implements [cluster.Cluster].
func (c *Cluster) Token(path, addr, tokenFile string) error {
	return cluster.WriteToken(c.rest, path, addr, tokenFile)
}

// InCluster is the cluster of the pod that this process is in, as the pod's ServiceAccount: its rights are that account's, no
// administrator's. Its kubeconfig is dir/kubeconfig, whose token is read at each use.
func InCluster(dir string) (*Cluster, error) {
	c := &Cluster{kubeconfig: filepath.Join(dir, "kubeconfig"), context: "default"}
	var err error
	if c.rest, err = rest.InClusterConfig(); err != nil {
		return nil, &coded.Error{
			Code: CodeNoPod, Message: "this process is in no pod of a cluster", Err: err,
			Try: "vsphere-sandbox up --cluster existing   # which starts one in a pod",
		}
	}
	if err := c.connect(); err != nil {
		return nil, err
	}
	// What lasts is the file with the authority: a kubeconfig with its text would not see it renewed.
	return c, c.Token(c.kubeconfig, c.Addr(), c.rest.BearerTokenFile)
}

// oldest is the oldest minor release of Kubernetes that the chart works with: it sets the index of a StatefulSet's pod as
// a label, which selects a shard of light nodes.
const oldest = 28

// Reach connects to the cluster and returns its version, or within [Patience] an error that explains the problem.
func (c *Cluster) Reach(ctx context.Context) (*version.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	raw, err := c.client.Discovery().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	v, err := parseVersion(raw)
	if err != nil {
		return nil, &coded.Error{
			Code: CodeUnreachable, Message: fmt.Sprintf("%s does not respond like a Kubernetes API server", c.Server()),
			Try: "kubectl --context " + c.context + " version\n--context NAME   # another one", Err: err,
		}
	}
	minor, err := strconv.Atoi(strings.TrimRight(v.Minor, "+"))
	if err == nil && v.Major == "1" && minor < oldest {
		return nil, &coded.Error{
			Code: CodeVersion, Message: fmt.Sprintf("the cluster runs Kubernetes %s, but at least 1.%d is needed", v.GitVersion, oldest),
			Try: "upgrade it, or use another: --context NAME",
		}
	}
	return v, nil
}

// explain adds to an error of a request what to do about it; nil stays nil.
func (c *Cluster) explain(ctx context.Context, err error) error {
	var (
		known     *coded.Error
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		expired   x509.CertificateInvalidError
	)
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.Is(context.Cause(ctx), context.Canceled):
		return context.Cause(ctx)
	case apierrors.IsUnauthorized(err), strings.Contains(err.Error(), "getting credentials"):
		return &coded.Error{
			Code: CodeCredentials, Message: fmt.Sprintf("%s rejects the credentials of context %q: they are wrong or have expired", c.Server(), c.context),
			Try: "log in again, as for kubectl\nkubectl --context " + c.context + " auth whoami", Err: err,
		}
	case apierrors.IsForbidden(err):
		return &coded.Error{
			Code: CodeRights, Message: fmt.Sprintf("the user of context %q is not permitted to do this", c.context),
			Try: "use an administrator's context: --context NAME", Err: err,
		}
	case errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &expired):
		return &coded.Error{
			Code: CodeCertificate, Message: fmt.Sprintf("the certificate of %s cannot be verified", c.Server()),
			Try: "kubectl config view   # certificate-authority-data of that cluster", Err: err,
		}
	}
	return &coded.Error{
		Code: CodeUnreachable, Message: fmt.Sprintf("the cluster of context %q does not respond at %s", c.context, c.Server()),
		Try: "kubectl --context " + c.context + " version\n--context NAME   # another one", Err: err,
	}
}

// Codes of a [coded.Error] about a cluster, or about the connection to it.
const (
	CodeKubeconfig  = "kubeconfig-invalid"
	CodeUnreachable = "cluster-unreachable"
	CodeCertificate = "cluster-certificate-unknown"
	CodeCredentials = "cluster-credentials-refused"
	CodeRights      = "cluster-rights-missing"
	CodeVersion     = "cluster-too-old"
	CodeNodes       = "cluster-nodes-endangered"
	CodeController  = "cloud-controller-present"
	CodeTaken       = "cluster-in-use"
	CodeName        = "node-name-taken"
	CodeImage       = "image-missing"
	CodePod         = "pod-not-running"
	CodeNoPod       = "not-in-a-pod"
	CodeLeft        = "cluster-not-clean"
)

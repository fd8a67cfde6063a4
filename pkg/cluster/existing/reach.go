package existing

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

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

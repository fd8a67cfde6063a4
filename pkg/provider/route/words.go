package route

import (
	"errors"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nsx"
)

// takenError reports a route of another owner to the network of a node's pods.
type takenError struct{ network, path, cluster string }

func (e *takenError) Error() string {
	owner := "which this provider has not made"
	if e.cluster != "" {
		owner = "of the cluster " + e.cluster
	}
	return fmt.Sprintf("the network %s has another route, %s, %s: give each cluster its own --cluster-cidr, or delete that route", e.network, e.path, owner)
}

// notRealizedError reports a route that NSX has taken and does not use.
type notRealizedError struct{ path, problem string }

func (e *notRealizedError) Error() string {
	if e.problem == "" {
		return fmt.Sprintf("NSX has not realized %s within %s", e.path, realizeWait)
	}
	return fmt.Sprintf("NSX does not realize %s: %s", e.path, e.problem)
}

// explained adds to an error what to do about it. The route controller reports it as FailedToCreateRoute on the Node.
func explained(err error) error {
	advice := ""
	switch {
	case errors.Is(err, nsx.ErrNoCredentials):
		advice = "put username and password into the Secret that nsxt names in the configuration"
	case errors.Is(err, nsx.ErrCredentials):
		advice = "correct user and password of nsxt, or unlock the account"
	case errors.Is(err, nsx.ErrCertificate):
		advice = "set caFile of nsxt to the authority of its certificate"
	case errors.Is(err, nsx.ErrUnreachable):
		advice = "check that NSX is up and reachable from here, and host of nsxt"
	case nsx.Denied(err):
		advice = "give the user of nsxt a role that may change static routes"
	case nsx.Purging(err):
		advice = "NSX takes the path of a deleted route again after some minutes"
	case nsx.BadPath(err), nsx.NotFound(err):
		advice = "check routerPath: the gateway must exist"
	default:
		return err
	}
	return fmt.Errorf("%w: %s", err, advice)
}

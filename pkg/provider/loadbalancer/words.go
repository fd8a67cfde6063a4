package loadbalancer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nsx"
)

// Reasons of Events on Services, beside those of the service controller, which reports every error as SyncLoadBalancerFailed.
const (
	// ReasonClassKept: the annotation names another class than that of the existing load balancer.
	ReasonClassKept = "LoadBalancerClassKept"
	// ReasonForeignObjects: objects in NSX have the tags of the Service, and are not certainly those of this cluster.
	ReasonForeignObjects = "LoadBalancerForeignObjects"
	// ReasonNotRealized: NSX has taken the objects and cannot do what they say.
	ReasonNotRealized = "LoadBalancerNotRealized"
)

// retryAfter is when the service controller tries again while NSX cannot be used. Its own pauses grow to five minutes.
const retryAfter = 10 * time.Second

// serviceError is an error that someone has to correct. Its text says what.
type serviceError struct{ text string }

func (e *serviceError) Error() string { return e.text }

// classError is about something that the configuration of a class names.
type classError struct {
	class, what string
	err         error
}

func (e *classError) Error() string {
	return fmt.Sprintf("class %s: %s %v", e.class, e.what, e.err)
}

func (e *classError) Unwrap() error { return e.err }

// poolError reports that an IP pool gives no address.
type poolError struct{ class, pool, reason string }

func (e *poolError) Error() string {
	return fmt.Sprintf("class %s: IP pool %s gives no address: %s; add a range to the pool, delete Services that no longer need an address, or choose another class with the annotation %s",
		e.class, e.pool, e.reason, ClassAnnotation)
}

// explained adds to an error what to do about it. While NSX cannot be used, the result asks for another attempt soon.
func (b *Balancer) explained(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nsx.ErrNoCredentials):
		return again(err, "put username and password into the Secret that nsxt names in the configuration")
	case errors.Is(err, nsx.ErrCredentials):
		return again(err, "correct user and password of nsxt, or unlock the account")
	case errors.Is(err, nsx.ErrCertificate):
		return again(err, "set caFile of nsxt to the authority of its certificate")
	case errors.Is(err, nsx.ErrUnreachable):
		return again(err, "check that NSX is up and reachable from here, and host of nsxt")
	case errors.Is(err, nsx.ErrBusy):
		return again(err, "NSX limits the calls of a client")
	case nsx.Denied(err):
		return fmt.Errorf("%w: give the user of nsxt a role that may change load balancers and IP pools", err)
	case nsx.InUse(err):
		return fmt.Errorf("%w: remove the reference, which this provider has not made", err)
	}
	if missing, ok := errors.AsType[*classError](err); ok && errors.Is(err, errNoSuchName) {
		return fmt.Errorf("%w in NSX: make it there, or correct the configuration", missing)
	}
	return err
}

// again returns an error after which the service controller tries again soon.
func again(err error, advice string) error {
	return api.NewRetryError(err.Error()+": "+advice, retryAfter)
}

// classNames returns the names of the classes.
func (b *Balancer) classNames() []string {
	return slices.Sorted(maps.Keys(b.cfg.Settings.Classes))
}

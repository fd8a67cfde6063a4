package provider

import (
	"errors"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
)

// reasonOfAddresses returns the reason of an event that tells why a node has no addresses: the selection's own.
func reasonOfAddresses(err error) string {
	var problem *address.Problem
	if errors.As(err, &problem) {
		return string(problem.Reason)
	}
	return ReasonNodeUnserved
}

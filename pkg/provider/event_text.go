package provider

import (
	"context"
	"errors"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

var (
	// httpCall is what Go's HTTP client puts before the reason of a failed call. Messages name the vCenter already.
	httpCall = regexp.MustCompile(`\b(?:Get|Post|Delete|Put|Patch) "https?://[^"]*": `)
	// ownPort is the port of our end of a connection, which differs each time.
	ownPort = regexp.MustCompile(`:\d+->`)
	// plainer drops what libraries add to a reason, and the period at the end of a vSphere fault.
	plainer = strings.NewReplacer(
		" (Client.Timeout exceeded while awaiting headers)", "",
		context.DeadlineExceeded.Error(), "no answer before the timeout",
		"ServerFaultCode: ", "",
		".; ", "; ",
	)
)

// eventText returns text on one line for an Event, without details that do not help an operator.
func eventText(text string) string {
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "\n", "; ")), " ")
	text = httpCall.ReplaceAllString(text, "")
	text = ownPort.ReplaceAllString(text, "->")
	return plainer.Replace(text)
}

// remedy returns what to do about a vCenter that cannot be used, or "" if that is not known.
func remedy(err error) string {
	var (
		urlErr *url.Error
		netErr net.Error
	)
	switch {
	case errors.Is(err, vcenter.ErrNoCredentials):
		return "put user and password in the Secret, directory or file that the configuration names"
	case errors.Is(err, vcenter.ErrInvalidLogin):
		return "correct user and password, or unlock the account"
	case errors.Is(err, vcenter.ErrCertificate):
		return "configure the certificate's authority, or its thumbprint"
	case errors.As(err, &urlErr), errors.As(err, &netErr):
		return "check that the vcenter is up and reachable from here"
	}
	return ""
}

// sentence joins the parts that are not empty.
func sentence(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p = strings.TrimSuffix(p, "."); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "; ")
}

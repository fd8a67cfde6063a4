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
	// httpCall is what Go's HTTP client puts before the reason of a call that failed. The vCenter has been named.
	httpCall = regexp.MustCompile(`\b(?:Get|Post|Delete|Put|Patch) "https?://[^"]*": `)
	// ownPort is that of our end of a connection, another one each time.
	ownPort = regexp.MustCompile(`:\d+->`)
	// plainer drops what libraries add to a reason, a fault's full stop too.
	plainer = strings.NewReplacer(
		" (Client.Timeout exceeded while awaiting headers)", "",
		context.DeadlineExceeded.Error(), "no answer in time",
		"ServerFaultCode: ", "",
		".; ", "; ",
	)
)

// wording is text on one line, without what tells an operator nothing, for an event.
func wording(text string) string {
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "\n", "; ")), " ")
	text = httpCall.ReplaceAllString(text, "")
	text = ownPort.ReplaceAllString(text, "->")
	return plainer.Replace(text)
}

// remedy says what to do about a vCenter that cannot be used, for as far as that is known.
func remedy(err error) string {
	var (
		urlErr *url.Error
		netErr net.Error
	)
	switch {
	case errors.Is(err, vcenter.ErrNoCredentials):
		return "put user and password where the configuration says that they are"
	case errors.Is(err, vcenter.ErrInvalidLogin):
		return "correct user and password, or unlock the account"
	case errors.Is(err, vcenter.ErrCertificate):
		return "configure the certificate's authority, or its thumbprint"
	case errors.As(err, &urlErr), errors.As(err, &netErr):
		return "see that the vcenter is up, and can be reached from here"
	}
	return ""
}

// sentence joins what there is to say.
func sentence(parts ...string) string {
	var said []string
	for _, p := range parts {
		if p = strings.TrimSuffix(p, "."); p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, "; ")
}

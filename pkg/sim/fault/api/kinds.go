package api

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"

// Kinds returns the kinds of this theme.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		down(), restart(), blackHole(), hang(), latency(), unavailable(), throttled(), resetMidBody(), soapFault(), restError(),
		cnsDown(), spbmDown(),
		sessionExpired(), sessionsExpiring(), sessionCap(), accountLocked(),
		certificateRotated(), certificateExpired(), certificateWrongName(), passwordRotated(), permissionMissing(), watchTruncated(), eventBurst(),
	}
}

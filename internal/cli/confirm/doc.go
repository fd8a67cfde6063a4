// Package confirm asks before something is done to VMs that are real: a sandbox on real vCenters answers a request that
// touches one with what it would do and how that is taken back, and does it when the request is repeated as confirmed.
//
//	var ask confirm.Asking
//	ask.Bind(cmd)
//	…
//	done, err := confirm.Do(ctx, streams, ask, func(c confirm.Consent) (api.Done, error) {
//		return client.VM(ctx, api.VMRequest{Action: api.PowerOff, VM: "worker-1", Confirmed: c.Given})
//	})
//	if errors.Is(err, confirm.ErrDeclined) { … } // a person said no, and was told that nothing was done
//
// Where nobody can be asked, the sandbox's answer is the error, with --yes as what to try. On a sandbox of simulated vCenters
// nothing is ever asked.
//
// Floor 5.
package confirm

// Package confirm asks before VMs in real vCenters are changed: the sandbox answers such a request with what it would do
// and how to revert it, and does it when the request is repeated as confirmed.
//
//	var ask confirm.Flags
//	ask.Bind(cmd)
//	…
//	done, err := confirm.Do(ctx, streams, ask, func(c confirm.Consent) (api.Done, error) {
//		return client.VM(ctx, api.VMRequest{Action: api.PowerOff, VM: "worker-1", Confirmed: c.Confirmed})
//	})
//	if errors.Is(err, confirm.ErrDeclined) { … } // the user declined, and saw that nothing was done
//
// Without a terminal the sandbox's answer is the error, with --yes as what to try. A sandbox of simulated vCenters never
// asks.
//
// Floor 5.
package confirm

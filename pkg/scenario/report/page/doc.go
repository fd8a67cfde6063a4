// Package page writes results as one HTML file: scenarios with their steps, and for each the timeline drawn, lanes by plane
// and object, events as marks, causes as curves with how long they took.
//
// The file needs nothing else: no network, no other file; it works from disk and under a policy that allows only what is
// in it (it carries that policy itself). Everything is drawn by the time it is written; the script only shows, hides and
// follows. Without it the page is whole.
//
// Floor 4.
package page

// Package page writes results as one HTML file: scenarios with their steps and a timeline each, with lanes by plane and object,
// events as marks, and causes as curves with their latency.
//
// The file is self-contained: it works from disk, without a network, under its own content security policy. All drawings are
// static; the script only shows, hides and highlights. Without the script the page is complete.
//
// Floor 4.
package page

"""Published methods of fact-checking, each as its document states it.

What belongs here: equations, algorithms and parameters as pure functions, each with the place in
its document. What does not: their order (strategies/), asking models (reasoners/llm).

Two documents are cited by short names: *ECVS* is "Enhanced Claim Verification System with Real
Source Integration" (technical documentation, May 23, 2025), *Raw Evidence* is Chen et al. (2023),
"Complex Claim Verification with Evidence Retrieved in the Wild", arXiv:2305.11859.
"""
